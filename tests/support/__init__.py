"""What tests start: servers, a browser, the product itself in processes of its own."""
