terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }
}

resource "aws_s3_bucket" "b" {
  bucket = "alone"
}
