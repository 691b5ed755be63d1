package progress

import (
	"fmt"
	"slices"
	"time"
)

// Downloads shows on a terminal how far downloads are.
type Downloads struct {
	o     Options
	area  *Area
	rows  []download
	drawn time.Time
}

type download struct {
	name       string
	done, size int64
}

// NewDownloads shows them in an area.
func NewDownloads(area *Area, o Options) *Downloads {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Downloads{o: o, area: area}
}

// Take learns how many bytes of a download have come, and of how many: 0 where that isn't
// known. Calls follow one another.
func (d *Downloads) Take(name string, done, size int64, over bool) {
	at := slices.IndexFunc(d.rows, func(r download) bool { return r.name == name })
	switch {
	case over && at >= 0:
		d.rows = slices.Delete(d.rows, at, at+1)
	case over:
		return
	case at >= 0:
		d.rows[at] = download{name, done, size}
	default:
		d.rows = append(d.rows, download{name, done, size})
	}
	if now := d.o.Now(); over || now.Sub(d.drawn) >= every {
		d.drawn = now
		d.draw()
	}
}

func (d *Downloads) draw() {
	width, height := d.o.Size()
	var lines []Line
	for _, r := range d.rows[:min(len(d.rows), max(1, height-2))] {
		text := size(r.done)
		if r.size > 0 {
			text = fmt.Sprintf("%s of %s, %d %%", size(r.done), size(r.size), min(r.done, r.size)*100/r.size)
		}
		var l Line
		l.add(width-1, d.o.Pen, "  "+r.name+"  "+text)
		lines = append(lines, l)
	}
	d.area.Draw(lines)
}

// size is a number of bytes in words.
func size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
