// Package batchv1 contains the generated code of the batch service, weir/batch/v1/batch.proto.
// To generate it again, use protoc, protoc-gen-go v1.36.12 and protoc-gen-go-grpc v1.6.2.
package batchv1

//go:generate protoc -I.. --go_out=.. --go_opt=module=weir.dev/weir/batch --go-grpc_out=.. --go-grpc_opt=module=weir.dev/weir/batch weir/batch/v1/batch.proto
