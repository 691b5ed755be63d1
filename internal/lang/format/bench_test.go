package format

import (
	"bytes"
	"testing"
)

// BenchmarkSource formats a file of usual size.
func BenchmarkSource(b *testing.B) {
	one := []byte("resource \"a_b\" \"c\" {\n  count=2\n  name   = \"x-${count.index}\"\n  tags = {\n    a = var.a\n    bcd = [1, 2,3]\n  }\n}\n\n")
	src := bytes.Repeat(one, 40)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		Source(src, "main.tf")
	}
}
