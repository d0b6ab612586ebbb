"""What pages are made of: HTML, the frame that all share, and charts."""
