"""What is checked before anything is charged: that the ledger is the newest, and that nobody else changed a balance."""
