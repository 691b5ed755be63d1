# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/archive" {
  version     = "1.3.0"
  constraints = "~> 1.3"
  hashes = [
    "h1:Dcx+dmrZTJS4R3YcEBox0p6cKNOMmwgd4niVQ3TaY4c=",
  ]
}

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

provider "registry.opentofu.org/hashicorp/random" {
  version     = "3.9.0"
  constraints = "~> 3.9"
  hashes = [
    "h1:ihVYYhFp4AcsQby393rQQDbWx5YYW/uf5FeHYwCOimY=",
  ]
}

provider "registry.opentofu.org/hashicorp/time" {
  version     = "0.14.2"
  constraints = "~> 0.14"
  hashes = [
    "h1:9bOAnZXe+dHF0l5t+vaMyfJ3H/tIex60SQPpxFfRjBU=",
  ]
}

provider "registry.opentofu.org/hashicorp/tls" {
  version     = "4.0.4"
  constraints = "~> 4.0"
  hashes = [
    "h1:nKPnUoDrK8YLEbF+dBq0xE5w5kpVTWltZ3+nnTQEKa0=",
  ]
}
