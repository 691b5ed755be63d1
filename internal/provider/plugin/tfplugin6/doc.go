// Package tfplugin6 contains the generated code of plugin protocol 6.
//
// It owns nothing but the generated messages; the client that gives them a meaning is package
// plugin. It needs protoc, protoc-gen-go v1.36.12 and protoc-gen-go-grpc v1.6.2 to be
// generated again.
package tfplugin6

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative tfplugin6.proto
