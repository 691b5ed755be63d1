package planfile

// Pages are bytes in pieces. A buffer in one piece takes three times what is in it while it
// grows, and leaves holes behind that nothing else fits in.
type pages [][]byte

// The first page has room for firstPage bytes, each further one for twice as many, up to
// largestPage.
const (
	firstPage   = 4 << 10
	largestPage = 1 << 20
)

// Write implements io.Writer.
func (p *pages) Write(data []byte) (int, error) {
	written := len(data)
	for len(data) > 0 {
		last := len(*p) - 1
		if last < 0 || len((*p)[last]) == cap((*p)[last]) {
			*p = append(*p, make([]byte, 0, min(firstPage<<min(len(*p), 8), largestPage)))
			last++
		}
		page := (*p)[last]
		room := min(len(data), cap(page)-len(page))
		(*p)[last] = append(page, data[:room]...)
		data = data[room:]
	}
	return written, nil
}

func (p pages) size() int {
	n := 0
	for _, page := range p {
		n += len(page)
	}
	return n
}
