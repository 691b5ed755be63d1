variable "range" { type = string }
variable "zone" { type = string }

resource "terraform_data" "subnet" {
  input = "${var.zone} of ${var.range}"
}

output "name" { value = terraform_data.subnet.output }
