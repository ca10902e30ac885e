"""Documents, workbooks and presentations (DOCX, XLSX, PPTX) as text."""
