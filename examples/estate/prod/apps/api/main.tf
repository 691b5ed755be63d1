terraform {
  backend "local" {}
}

data "terraform_remote_state" "cluster" {
  backend = "local"
  config  = { path = "../../cluster/terraform.tfstate" }
}

module "app" {
  source = "../../../modules/app"
  name   = "api"
  cluster = {
    endpoint = data.terraform_remote_state.cluster.outputs.endpoint
    token    = data.terraform_remote_state.cluster.outputs.token
  }
}

output "url" {
  value = module.app.url
}
