"""The canonical mechanism: one draw among all sets of k items, each scored by its largest error."""
