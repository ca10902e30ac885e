"""What users told to hold from then on, kept in their words as pins."""
