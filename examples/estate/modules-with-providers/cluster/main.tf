terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    tls    = { source = "hashicorp/tls" }
  }
}

variable "network" {
  type = object({ id = string, subnets = list(string) })
}

resource "random_pet" "node" {
  for_each = toset(var.network.subnets)
  keepers  = { network = var.network.id }
}

resource "random_password" "token" {
  length  = 20
  special = false
  keepers = { network = var.network.id }
}

resource "tls_private_key" "ca" {
  algorithm = "ED25519"
}

output "endpoint" {
  value = "https://${var.network.id}.example"
}

output "token" {
  value     = random_password.token.result
  sensitive = true
}
