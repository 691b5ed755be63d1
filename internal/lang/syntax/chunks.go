package syntax

import (
	"bytes"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A big file is parsed in chunks that end behind a line with a closing brace
// at its very beginning. That is nearly always the end of a top-level block.
// Where it isn't, as in a heredoc or a comment, the text before it is no valid
// file, so a chunk that parses without a problem was cut at the right place.
// Chunks keep token lists small, which grow by copying, and are parsed on all
// processors.
const (
	chunkBytes   = 2 << 10
	minToDivide  = 2 * chunkBytes
	blockEndLine = "\n}\n"
)

type chunk struct {
	src   []byte
	start hcl.Pos
	body  *hclsyntax.Body
}

// parseChunks parses a file without any problem, or reports that it isn't one.
func parseChunks(name string, src []byte) (*hclsyntax.Body, bool) {
	if len(src) < minToDivide {
		return parseUsual(name, src, hcl.InitialPos)
	}
	chunks := divide(src, chunkBytes)
	var next, failed atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(chunks)) {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(chunks) || failed.Load() > 0 {
					return
				}
				if !chunks[i].parse(name) {
					failed.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if failed.Load() > 0 {
		return nil, false
	}
	return join(chunks)
}

// Cut cuts a text behind the ends of what are blocks nearly always. The result of a part that parses by itself doesn't depend on what stands around it, in a file whose parts all do so.
func Cut(src []byte) [][]byte {
	var parts [][]byte
	for _, c := range divide(src, 0) {
		parts = append(parts, c.src)
	}
	return parts
}

// divide cuts the text behind ends of blocks, but for the end each at least that long.
func divide(src []byte, least int) []chunk {
	var chunks []chunk
	pos := hcl.InitialPos
	for len(src) > 0 {
		end := len(src)
		if len(src) > least {
			if at := bytes.Index(src[least:], []byte(blockEndLine)); at >= 0 {
				end = least + at + len(blockEndLine)
			}
		}
		chunks = append(chunks, chunk{src: src[:end], start: pos})
		pos.Line += bytes.Count(src[:end], []byte{'\n'})
		pos.Byte += end
		src = src[end:]
	}
	return chunks
}

func (c *chunk) parse(name string) bool {
	if body, ok := parseUsual(name, c.src, c.start); ok {
		c.body = body
		return true
	}
	if _, bad := checkFileDepth(name, c.src); bad {
		return false
	}
	file, diags := hclsyntax.ParseConfig(c.src, name, c.start)
	if len(diags) > 0 {
		return false
	}
	c.body = file.Body.(*hclsyntax.Body)
	return true
}

// join makes one body of the chunks; an argument can't be in two of them.
func join(chunks []chunk) (*hclsyntax.Body, bool) {
	all := &hclsyntax.Body{
		Attributes: hclsyntax.Attributes{},
		SrcRange:   hcl.RangeBetween(chunks[0].body.SrcRange, chunks[len(chunks)-1].body.SrcRange),
		EndRange:   chunks[len(chunks)-1].body.EndRange,
	}
	attributes := 0
	for _, c := range chunks {
		attributes += len(c.body.Attributes)
		maps.Copy(all.Attributes, c.body.Attributes)
		all.Blocks = append(all.Blocks, c.body.Blocks...)
	}
	return all, len(all.Attributes) == attributes
}
