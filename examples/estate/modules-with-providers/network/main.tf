terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}

variable "cidr" {
  type = string
}

resource "random_id" "vpc" {
  byte_length = 4
  keepers     = { cidr = var.cidr }
}

output "id" {
  value = random_id.vpc.hex
}

output "subnets" {
  value = [for n in range(3) : cidrsubnet(var.cidr, 8, n)]
}
