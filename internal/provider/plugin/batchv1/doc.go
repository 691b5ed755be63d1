// Package batchv1 contains the generated code of the batch service,
// batch/weir/batch/v1/batch.proto.
//
// It owns nothing but the generated messages, for tests only: package batching writes and reads
// them by itself, and provider authors have theirs in a module of its own. It needs protoc,
// protoc-gen-go v1.36.12 and protoc-gen-go-grpc v1.6.2 to be generated again.
package batchv1

//go:generate protoc -I../../../../batch --go_out=../../../.. --go_opt=module=weir.dev/weir,Mweir/batch/v1/batch.proto=weir.dev/weir/internal/provider/plugin/batchv1 --go-grpc_out=../../../.. --go-grpc_opt=module=weir.dev/weir,Mweir/batch/v1/batch.proto=weir.dev/weir/internal/provider/plugin/batchv1 weir/batch/v1/batch.proto
