# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/local" {
  version     = "1.4.0"
  constraints = "~> 1.4"
  hashes = [
    "h1:+8JyElgO9AWViqlhtfVsETCNO0YJmw4pJ8Kn+yS306s=",
  ]
}

provider "registry.opentofu.org/hashicorp/null" {
  version     = "2.1.2"
  constraints = "~> 2.1"
  hashes = [
    "h1:FYp6+n5yxqd8EVZ/nUOdOPkgYqq4sBOEIDA2MLH35i0=",
  ]
}
