module weir.dev/aws

go 1.26.8
