terraform {
  backend "local" {}
}

variable "cidr" {
  type    = string
  default = "10.11.0.0/16"
}

module "network" {
  source = "../../modules/network"
  cidr   = var.cidr
}

output "network" {
  value = { id = module.network.id, subnets = module.network.subnets }
}
