# Files of the second stage, added to relucent_plugin.
