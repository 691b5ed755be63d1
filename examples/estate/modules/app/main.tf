variable "name" {
  type = string
}

variable "cluster" {
  type = object({ endpoint = string, token = string })
}

resource "terraform_data" "release" {
  input = { name = var.name, endpoint = var.cluster.endpoint, token = var.cluster.token }
}

output "url" {
  value = "${var.cluster.endpoint}/${var.name}"
}
