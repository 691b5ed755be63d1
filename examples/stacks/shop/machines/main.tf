variable "subnet" { type = string }
variable "size" { type = number }
variable "password" {
  type      = string
  ephemeral = true
}

resource "terraform_data" "machine" {
  count = var.size
  input = "machine ${count.index} in ${var.subnet}"
  lifecycle {
    precondition {
      condition     = var.password != ""
      error_message = "There is no password."
    }
  }
}

output "size" { value = length(terraform_data.machine) }
