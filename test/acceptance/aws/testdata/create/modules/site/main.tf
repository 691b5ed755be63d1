# A bucket and what belongs to it.
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

variable "name" { type = string }
variable "days" { type = number }
variable "cors" {
  type    = bool
  default = true
}
variable "readers" {
  type    = map(string)
  default = {}
}

resource "aws_s3_bucket" "this" {
  bucket = var.name
  tags   = { Name = var.name }
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket              = aws_s3_bucket.this.id
  block_public_acls   = true
  block_public_policy = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  bucket = aws_s3_bucket.this.id
  rule {
    object_ownership = "BucketOwnerPreferred"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id
  rule {
    bucket_key_enabled = true
    apply_server_side_encryption_by_default {
      sse_algorithm = "aws:kms"
    }
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket     = aws_s3_bucket.this.id
  depends_on = [aws_s3_bucket_versioning.this]

  rule {
    id     = "old"
    status = "Enabled"
    filter {
      prefix = "logs/"
    }
    noncurrent_version_expiration {
      noncurrent_days = var.days
    }
    transition {
      days          = var.days + 60
      storage_class = "GLACIER"
    }
  }
}

resource "aws_s3_bucket_cors_configuration" "this" {
  count  = var.cors ? 1 : 0
  bucket = aws_s3_bucket.this.id
  dynamic "cors_rule" {
    for_each = ["GET", "PUT"]
    content {
      allowed_methods = [cors_rule.value]
      allowed_origins = ["https://${var.name}.example.com"]
      max_age_seconds = 600
    }
  }
}

data "aws_iam_policy_document" "this" {
  statement {
    sid       = "Read"
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.this.arn}/*"]
    principals {
      type        = "AWS"
      identifiers = length(var.readers) > 0 ? sort(values(var.readers)) : ["123456789012"]
    }
  }
}

resource "aws_s3_bucket_policy" "this" {
  bucket = aws_s3_bucket.this.id
  policy = data.aws_iam_policy_document.this.json
}

resource "aws_s3_object" "index" {
  bucket       = aws_s3_bucket.this.id
  key          = "index.html"
  content      = "<h1>${var.name} keeps logs for ${var.days} days</h1>"
  content_type = "text/html"
  depends_on   = [aws_s3_bucket_versioning.this] # or its version would depend on who is first
}

output "arn" { value = aws_s3_bucket.this.arn }
