"""Our pieces in other programs' files, so that agents call us and read our rules; and the memories of other
programs."""
