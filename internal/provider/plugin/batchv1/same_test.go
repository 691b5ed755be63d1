package batchv1_test

import (
	"bytes"
	"os"
	"testing"
)

// TestSameContract: what authors of providers have is generated from the same contract.
func TestSameContract(t *testing.T) {
	for _, name := range []string{"batch.pb.go", "batch_grpc.pb.go"} {
		ours, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile("../../../../batch/batchv1/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(ours, theirs) {
			t.Errorf("%s differs from that of the module for authors: go generate ./... in both places", name)
		}
	}
}
