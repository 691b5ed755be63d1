terraform {
  backend "local" {}
}

data "terraform_remote_state" "network" {
  backend = "local"
  config  = { path = "../network/terraform.tfstate" }
}

module "cluster" {
  source  = "../../modules/cluster"
  network = data.terraform_remote_state.network.outputs.network
}

output "endpoint" {
  value = module.cluster.endpoint
}

output "token" {
  value     = module.cluster.token
  sensitive = true
}
