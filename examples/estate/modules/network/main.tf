variable "cidr" {
  type = string
}

resource "terraform_data" "vpc" {
  input = var.cidr
}

output "id" {
  value = terraform_data.vpc.id
}

output "subnets" {
  value = [for n in range(3) : cidrsubnet(terraform_data.vpc.input, 8, n)]
}
