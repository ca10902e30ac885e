"""The demo server and the scripted server: the Messages API over loopback, on one pure core."""
