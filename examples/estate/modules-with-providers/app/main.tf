terraform {
  required_providers {
    local = { source = "hashicorp/local" }
  }
}

variable "name" {
  type = string
}

variable "cluster" {
  type = object({ endpoint = string, token = string })
}

# The file is in the directory of the root, also when all roots are applied in one run.
resource "local_file" "release" {
  filename          = "${path.root}/release.json"
  sensitive_content = jsonencode({ name = var.name, endpoint = var.cluster.endpoint, token = var.cluster.token })
}

output "url" {
  value = "${var.cluster.endpoint}/${var.name}"
}
