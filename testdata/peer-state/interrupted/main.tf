# A state with a tainted object and a deposed one: the first apply, with step=1,
# makes everything but "half", whose provisioner fails; the second, with step=2,
# replaces "old", fails at "half" again, and so never gets to destroying the
# object that "old" was before.
terraform {
  required_providers {
    null  = { source = "hashicorp/null", version = "~> 2.1" }
    local = { source = "hashicorp/local", version = "~> 1.4" }
  }
}

variable "step" {
  type = number
}

resource "null_resource" "base" {
  triggers = { fixed = "yes" }
}

resource "local_file" "old" {
  filename = "${path.module}/out/step-${var.step}.txt"
  content  = null_resource.base.id

  lifecycle {
    create_before_destroy = true
  }
}

resource "null_resource" "half" {
  triggers = { old = local_file.old.id }

  provisioner "local-exec" {
    command = "exit 4"
  }
}
