// Package batchv1 is generated from the contract of the batch service,
// weir/batch/v1/batch.proto. It needs protoc, protoc-gen-go v1.36.12 and protoc-gen-go-grpc
// v1.6.2 to be generated anew.
package batchv1

//go:generate protoc -I.. --go_out=.. --go_opt=module=weir.dev/weir/batch --go-grpc_out=.. --go-grpc_opt=module=weir.dev/weir/batch weir/batch/v1/batch.proto
