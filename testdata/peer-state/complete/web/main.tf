terraform {
  required_providers {
    random = {
      source                = "hashicorp/random"
      configuration_aliases = [random.main]
    }
    null = { source = "hashicorp/null" }
  }
}

variable "name" { type = string }
variable "size" { type = number }
variable "marker" { type = string }

resource "random_id" "node" {
  provider    = random.main
  count       = var.size
  byte_length = 3
  prefix      = "${var.name}-"
}

resource "null_resource" "joined" {
  triggers = {
    nodes  = join(" ", random_id.node[*].hex)
    marker = var.marker
  }
}

output "summary" {
  value = {
    nodes  = random_id.node[*].hex
    joined = null_resource.joined.id
  }
}
