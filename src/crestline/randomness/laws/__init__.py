"""The noise laws, one small file each."""
