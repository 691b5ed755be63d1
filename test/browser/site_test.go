package browser

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// site builds the documentation site and returns its URL. Pages load nothing from outside.
func site(t *testing.T) (context.Context, string) {
	t.Helper()
	ctx := tab(t)
	out := t.TempDir()
	build := exec.Command("go", "run", "./site", "-root=..", "-out="+out, "-version=1.2.3")
	build.Dir = "../../tools"
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	chromedp.ListenTarget(ctx, func(e any) {
		if e, ok := e.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(e.Request.URL, "file:") && !strings.HasPrefix(e.Request.URL, "data:") {
			t.Errorf("a page loads %s", e.Request.URL)
		}
	})
	do(t, ctx, network.Enable())
	return ctx, "file://" + out + "/"
}

func value[T any](t *testing.T, ctx context.Context, script string) (v T) {
	t.Helper()
	do(t, ctx, chromedp.Evaluate(script, &v))
	return v
}

// TestSite: the search finds commands, functions and codes; the page is marked in the
// navigation, which leads to the next page; code is highlighted and can be copied; nothing is
// wider than a phone; and nothing is loaded from outside.
func TestSite(t *testing.T) {
	ctx, at := site(t)
	for query, want := range map[string]string{
		"cidrsubnet":  "functions.html#cidrsubnet",
		"weir plan":   "reference/plan.html",
		"in-doubt":    "in-doubt",
		"state undo":  "undo",
		"rate limits": "cost-model.html#parallelism-and-rate-limits",
	} {
		var links []string
		do(t, ctx, chromedp.Navigate(at+"docs/index.html"), chromedp.SendKeys("#search", query), chromedp.WaitVisible("#results a"),
			chromedp.Evaluate(`[...document.querySelectorAll("#results a")].map(a => a.href)`, &links))
		if !strings.Contains(strings.Join(links, " "), want) {
			t.Errorf("the search for %q finds %q, not %s", query, links, want)
		}
	}
	do(t, ctx, shot(t, "search-desktop"))
	do(t, ctx, chromedp.Click("#results a"), chromedp.WaitVisible("main h1"))

	for _, page := range []string{"index", "docs/index", "docs/reference/plan", "docs/tutorial", "docs/where-weir-differs", "docs/reference/functions"} {
		for _, size := range []struct {
			name   string
			width  int64
			height int64
			phone  bool
		}{{"desktop", 1280, 860, false}, {"phone", 390, 844, true}} {
			do(t, ctx, emulation.SetDeviceMetricsOverride(size.width, size.height, 1, size.phone), chromedp.Navigate(at+page+".html"), chromedp.WaitVisible("main h1"))
			if over := value[float64](t, ctx, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s is %v px wider than a %s", page, over, size.name)
			}
			do(t, ctx, shot(t, strings.ReplaceAll(page, "/", "-")+"-"+size.name))
		}
		if here := value[string](t, ctx, `document.querySelector("nav.pages [aria-current=page]")?.getAttribute("href") ?? ""`); !strings.HasSuffix(here, filepath.Base(page)+".html") {
			t.Errorf("on %s the navigation marks %q", page, here)
		}
		if !value[bool](t, ctx, `!!document.querySelector("nav.steps a[rel=next]")`) {
			t.Errorf("%s has no next page", page)
		}
		if got := value[string](t, ctx, `document.querySelector(".version").textContent`); got != "1.2.3" {
			t.Errorf("%s has the version %q", page, got)
		}
	}
	do(t, ctx, emulation.SetDeviceMetricsOverride(390, 844, 1, true), chromedp.Navigate(at+"docs/index.html"), chromedp.SendKeys("#search", "recover"), chromedp.WaitVisible("#results a"))
	do(t, ctx, shot(t, "search-phone"))

	do(t, ctx, emulation.SetDeviceMetricsOverride(1280, 860, 1, false), chromedp.Navigate(at+"docs/tutorial.html"), chromedp.WaitVisible("button.copy"))
	if n := value[int](t, ctx, `document.querySelectorAll("pre code span").length`); n < 20 {
		t.Errorf("the tutorial's code has %d colored parts", n)
	}
	background := `getComputedStyle(document.body).backgroundColor`
	light := value[string](t, ctx, background)
	do(t, ctx, scheme("dark"))
	if dark := value[string](t, ctx, background); dark == light {
		t.Errorf("the background stays %s in dark mode", light)
	}
	if dim := value[[]string](t, ctx, `[...document.querySelectorAll("pre code span")].filter(s => s.textContent.trim() && Math.max(...getComputedStyle(s).color.match(/\d+/g).slice(0, 3)) < 120).map(s => s.className + " " + s.textContent)`); len(dim) > 0 {
		t.Errorf("in dark mode these are too dark to read: %q", dim)
	}
	do(t, ctx, shot(t, "dark"))
}
