"""What is known of other memories, one file each: from what they keep to values of ours. Pure."""
