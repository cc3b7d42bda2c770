"""Statistics over documents: their sums, and what is drawn and tested of them."""
