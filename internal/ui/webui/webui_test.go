package webui

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
)

const host = "127.0.0.1:80"

func server(t *testing.T) (*Server, http.Handler) {
	t.Helper()
	s := New("NOBODYGUESSESTHISONE234567", func() time.Time { return time.UnixMilli(1000) })
	return s, s.Handler(80)
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://"+host+path, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// post answers as the page does, with what differs.
func post(h http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://"+host+path, strings.NewReader(body))
	r.Header.Set("Origin", "http://"+host)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func answer(plan int, choice string) string {
	return fmt.Sprintf(`{"plan":%d,"choice":%q}`, plan, choice)
}

func TestGuards(t *testing.T) {
	s, h := server(t)
	s.Planning("")
	number := s.Planned("Plan", false, []byte("<p>plan</p>"))
	for path, want := range map[string]int{
		"/": 404, "/events": 404, "/plan/1": 404, "/" + strings.Repeat("0", 64) + "/": 404, s.Path()[:20] + "/": 404,
		strings.TrimSuffix(s.Path(), "/") + "0/": 404, s.Path() + "other": 404, s.Path() + "plan/7": 404, s.Path() + "plan/x": 404,
		s.Path(): 200, s.Path() + "plan/1": 200,
	} {
		if w := get(h, path); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	for _, foreign := range []string{"weir.example", "weir.example:80", "127.0.0.1", "127.0.0.1:81", "127.0.0.1.nip.io:80", "", "[::1]:80"} {
		r := httptest.NewRequest(http.MethodGet, s.Path(), nil)
		r.Host = foreign
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusForbidden {
			t.Errorf("host %q: %d", foreign, w.Code)
		}
	}
	for _, c := range []struct {
		name   string
		header []string
		want   int
	}{
		{"no origin", []string{"Origin", ""}, 403},
		{"another site", []string{"Origin", "http://weir.example"}, 403},
		{"another port", []string{"Origin", "http://127.0.0.1:81"}, 403},
		{"the framed plan", []string{"Origin", "null"}, 403},
		{"cross site", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"same site", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a form", []string{"Content-Type", "text/plain"}, 403},
		{"another name", []string{"Host", "weir.example", "Origin", "http://weir.example"}, 403},
		{"the page", []string{"Sec-Fetch-Site", "same-origin"}, 409}, // nothing is asked
	} {
		if w := post(h, s.Path()+"answer", answer(number, "approve"), c.header...); w.Code != c.want {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.want)
		}
	}
	if w := get(h, s.Path()+"answer"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("an answer by GET: %d", w.Code)
	}
	if w := post(h, "/answer", answer(number, "approve")); w.Code != http.StatusNotFound {
		t.Errorf("without token: %d", w.Code)
	}
	for _, name := range []string{"Cache-Control", "Referrer-Policy", "X-Content-Type-Options", "Content-Security-Policy"} {
		if get(h, s.Path()).Header().Get(name) == "" {
			t.Errorf("no %s", name)
		}
	}
}

// asking puts a question and returns what comes of it, once the page may answer.
func asking(ctx context.Context, s *Server, plan int, choices ...string) <-chan string {
	got := make(chan string, 1)
	_, news, _ := s.after(0)
	go func() {
		choice, err := s.Ask(ctx, plan, nil, choices...)
		if err != nil {
			choice = err.Error()
		}
		got <- choice
	}()
	<-news
	return got
}

func TestAnswers(t *testing.T) {
	s, h := server(t)
	s.Planning("")
	first := s.Planned("Plan", false, nil)
	ctx, cancel := context.WithCancel(context.Background())
	got := asking(ctx, s, first, "approve", "refuse")
	for body, want := range map[string]int{answer(first, "end"): 409, answer(first+1, "approve"): 409, "x": 400, strings.Repeat(" ", 5000) + answer(first, "approve"): 400} {
		if w := post(h, s.Path()+"answer", body); w.Code != want {
			t.Errorf("%.40s: %d, want %d", body, w.Code, want)
		}
	}
	cancel()
	if choice := <-got; choice != ErrWithdrawn.Error() {
		t.Errorf("withdrawn, and got %q", choice)
	}
	if w := post(h, s.Path()+"answer", answer(first, "approve")); w.Code != http.StatusConflict {
		t.Errorf("an answer to a withdrawn question: %d", w.Code)
	}

	s.Planning("main.tf changed.")
	if w := post(h, s.Path()+"answer", answer(first, "approve")); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "newer plan") {
		t.Errorf("the earlier plan while another is made: %d %s", w.Code, w.Body)
	}
	second := s.Planned("Plan", false, nil)
	got = asking(context.Background(), s, second, "approve", "refuse")
	if w := post(h, s.Path()+"answer", answer(first, "approve")); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "newer plan") {
		t.Errorf("the earlier plan: %d %s", w.Code, w.Body)
	}
	if w := post(h, s.Path()+"answer", answer(second, "approve")); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := post(h, s.Path()+"answer", answer(second, "refuse")); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "already") {
		t.Errorf("a second answer: %d %s", w.Code, w.Body)
	}
	if choice := <-got; choice != "approve" {
		t.Errorf("got %q", choice)
	}
}

// TestTaken: an answer that was taken counts, although the question ends at the same time.
func TestTaken(t *testing.T) {
	for range 50 {
		s, h := server(t)
		s.Planning("")
		plan := s.Planned("Plan", false, nil)
		ctx, cancel := context.WithCancel(context.Background())
		got := asking(ctx, s, plan, "approve")
		go cancel()
		w := post(h, s.Path()+"answer", answer(plan, "approve"))
		if choice := <-got; (w.Code == http.StatusNoContent) != (choice == "approve") {
			t.Fatalf("the page got %d, and who asked %q", w.Code, choice)
		}
	}
}

func story(t *testing.T, s *Server) {
	t.Helper()
	object := func(text string) addr.Object {
		i, err := addr.ParseInstance(text)
		if err != nil {
			t.Fatal(err)
		}
		return addr.Object{Instance: i}
	}
	a, b := object("aws_vpc.a"), object("aws_vpc.b")
	p := &plan.Plan{Graph: &execgraph.Graph{Steps: []execgraph.Step{{Kind: execgraph.Apply, Object: &a}, {Kind: execgraph.Apply, Object: &b}, {Kind: execgraph.Apply}}}}
	for _, e := range []event.Event{
		{Kind: event.ApplyBegin, Plan: p},
		{Kind: event.ApplyStart, Addr: a, Action: plan.Create, IDKey: "id", IDValue: "secret-id"},
		{Kind: event.ApplyStart, Addr: b, Action: plan.Update},
		{Kind: event.ProvisionOutput, Addr: a, Text: "secret-output"},
		{Kind: event.ApplyComplete, Addr: a, Action: plan.Create, IDKey: "id", IDValue: "secret-id"},
		{Kind: event.StepEnd, Step: 0, Ending: event.Done},
		{Kind: event.ApplyErrored, Addr: b, Action: plan.Update},
		{Kind: event.StepEnd, Step: 1, Ending: event.Failed, Text: "No disk left: try\x1b another"},
		{Kind: event.StepEnd, Step: 2, Ending: event.Skipped},
		{Kind: event.Stopping},
	} {
		s.Event(e)
	}
}

const told = `{"type":"planning","why":""}
{"done":2,"of":2,"type":"looked"}
{"document":false,"failed":false,"heading":"Plan: 1 to add","plan":1,"type":"planned"}
{"of":3,"stoppable":false,"type":"applying"}
{"at":1000,"call":1,"class":"create","name":"aws_vpc.a","type":"start","word":"creating"}
{"at":1000,"call":2,"class":"update","name":"aws_vpc.b","type":"start","word":"updating"}
{"at":1000,"call":1,"failed":false,"type":"finish"}
{"done":1,"failed":0,"skipped":0,"type":"count"}
{"at":1000,"call":2,"failed":true,"type":"finish"}
{"done":1,"failed":1,"skipped":0,"type":"count"}
{"name":"aws_vpc.b","text":"No disk left: try␛ another","type":"reason"}
{"done":1,"failed":1,"skipped":1,"type":"count"}
{"type":"stopping"}
{"errors":true,"text":"Error: no","type":"problems"}
{"heading":"Apply failed","mood":"failed","text":"next  weir apply","type":"end"}
`

// TestLate: who comes late learns everything about the last plan, and who comes back what he
// doesn't have.
func TestLate(t *testing.T) {
	s, h := server(t)
	s.Planning("")
	s.Planned("an earlier plan", false, nil)
	s.plan = 0
	s.Planning("")
	s.Event(event.Event{Kind: event.PlanBegin, Count: 2})
	s.Event(event.Event{Kind: event.RefreshComplete})
	s.Event(event.Event{Kind: event.RefreshComplete})
	s.Planned("Plan: 1 to add", false, nil)
	story(t, s)
	s.Problems("Error: no", true)
	s.End("Apply failed", "next  weir apply", Failed)
	s.Close()
	s.Problems("after the end", true)
	w := get(h, s.Path()+"events")
	var got strings.Builder
	ids := 0
	for line := range strings.Lines(w.Body.String()) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			got.WriteString(data)
		}
		if strings.HasPrefix(line, "id: ") {
			ids++
		}
	}
	if got.String() != told || ids != strings.Count(told, "\n") {
		t.Errorf("told:\n%s", got.String())
	}
	r := httptest.NewRequest(http.MethodGet, "http://"+host+s.Path()+"events", nil)
	r.Header.Set("Last-Event-ID", fmt.Sprint(s.log[len(s.log)-2].seq))
	rest := httptest.NewRecorder()
	h.ServeHTTP(rest, r)
	if strings.Count(rest.Body.String(), "data: ") != 1 || !strings.Contains(rest.Body.String(), `"type":"end"`) {
		t.Errorf("who comes back is told %s", rest.Body)
	}
}

// TestToken: an address has 256 random bits, new for each page.
func TestToken(t *testing.T) {
	var addresses []string
	for range 2 {
		s, diags := Serve(context.Background(), 0, func(text string) { addresses = append(addresses, text) })
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		s.Close()
		token, err := base64.RawURLEncoding.DecodeString(strings.Trim(s.Path(), "/"))
		if err != nil || len(token) != 32 || bytes.Count(token, token[:1]) > 8 {
			t.Errorf("the token is %x, %v", token, err)
		}
		if !strings.Contains(addresses[len(addresses)-1], s.Path()) {
			t.Errorf("%s isn't at %s", addresses[len(addresses)-1], s.Path())
		}
	}
	if addresses[0] == addresses[1] {
		t.Error("two pages have one address")
	}
}

// TestListen: the page is there on a real port, learns what happens as it happens, and has all
// of it when the server is closed.
func TestListen(t *testing.T) {
	s, _ := server(t)
	address, err := s.Listen(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Fatal(address)
	}
	s.Planning("")
	r, err := http.Get(address + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	read := make(chan string)
	go func() {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		read <- b.String()
	}()
	story(t, s)
	s.End("Done", "", Done)
	s.Close()
	if text := <-read; !strings.Contains(text, `"type":"planning"`) || !strings.Contains(text, `"type":"end"`) {
		t.Error(text)
	}
	if _, err := http.Get(address); err == nil {
		t.Error("it is still there")
	}
}

// TestBoard: a board has a card for each part, in place of the one before, and their pages
// below its own; what they ask is answered there alone.
func TestBoard(t *testing.T) {
	s, h := server(t)
	parts := s.Divide([]string{"eu", "<us>"})
	if s.Part("<us>") != parts[1] || s.Part("none") != nil {
		t.Error("parts aren't found by their names")
	}
	cards := func() string {
		list, _, _ := s.after(0)
		var b strings.Builder
		for _, m := range list {
			b.Write(m.text)
			b.WriteByte('\n')
		}
		return b.String()
	}
	if got := strings.Count(cards(), `"type":"card"`); got != 2 {
		t.Errorf("%d cards", got)
	}
	parts[0].Planning("")
	number := parts[0].Planned("Plan: 2 to add", false, []byte("<p>two</p>"))
	got := asking(context.Background(), parts[0], number, "approve", "refuse")
	if text := cards(); strings.Count(text, `"type":"card"`) != 2 || !strings.Contains(text, `"heading":"Plan: 2 to add"`) || !strings.Contains(text, `"asks":true`) {
		t.Errorf("the cards are\n%s", text)
	}
	below := s.Path() + "part/0/"
	for path, want := range map[string]int{below: 200, below + "plan/1": 200, s.Path() + "part/1/": 200, s.Path() + "part/2/": 404, s.Path() + "part/-1/": 404, s.Path() + "part/x/": 404, "/part/0/": 404, s.Path() + "plan/1": 404} {
		if w := get(h, path); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	if page := get(h, s.Path()+"part/1/").Body.String(); !strings.Contains(page, "&lt;us&gt;</strong>") {
		t.Error("the page doesn't say which part it is of")
	}
	if w := post(h, s.Path()+"part/1/answer", answer(number, "approve")); w.Code != http.StatusConflict {
		t.Errorf("an answer to another part: %d", w.Code)
	}
	if w := post(h, below+"answer", answer(number, "approve"), "Origin", "http://weir.example"); w.Code != http.StatusForbidden {
		t.Errorf("an answer from elsewhere: %d", w.Code)
	}
	if w := post(h, below+"answer", answer(number, "approve")); w.Code != http.StatusNoContent || <-got != "approve" {
		t.Errorf("an answer: %d", w.Code)
	}
	p := &plan.Plan{Graph: &execgraph.Graph{}}
	for range 2 {
		p.Changes = append(p.Changes, &plan.Change{Action: plan.Create})
		p.Graph.Steps = append(p.Graph.Steps, execgraph.Step{Kind: execgraph.Apply, Change: len(p.Changes)})
	}
	parts[0].Event(event.Event{Kind: event.ApplyBegin, Plan: p})
	parts[0].Event(event.Event{Kind: event.StepEnd, Step: 0})
	// The board stops all deployments at once. A page of one can't.
	stops := 0
	s.Stoppable(func() { stops++ })
	if code := post(h, s.Path()+"stop", "{}").Code; code != http.StatusNoContent || stops != 1 || !strings.Contains(cards(), `"type":"stopping"`) {
		t.Errorf("stop: %d, %d stops", code, stops)
	}
	if code := post(h, s.Path()+"part/0/stop", "{}").Code; code != http.StatusConflict || stops != 1 {
		t.Errorf("stop of a part: %d, %d stops", code, stops)
	}
	if text := cards(); !strings.Contains(text, `"done":1,"failed":0,"of":2`) {
		t.Errorf("the cards are\n%s", text)
	}
	parts[0].End("Apply complete!", "", Done)
	parts[1].Planning("")
	refused := asking(context.Background(), parts[1], parts[1].Planned("Plan", false, nil), "refuse")
	post(h, s.Path()+"part/1/answer", answer(1, "refuse"))
	<-refused
	parts[1].End("Discarded", "", Discarded)
	if code := post(h, s.Path()+"stop", "{}").Code; code != http.StatusConflict || stops != 1 {
		t.Errorf("stop after the ends: %d, %d stops", code, stops)
	}
	if text := cards(); strings.Count(text, `"mood":"done"`) != 1 || strings.Count(text, `"mood":"discarded"`) != 1 {
		t.Errorf("the cards are\n%s", text)
	}
	over, cancel := context.WithCancel(context.Background())
	s.Over(over, false, true, func(string) { cancel() })
	if text := cards(); !strings.Contains(text, `"heading":"Not everything was done"`) || !strings.Contains(text, `"type":"withdrawn"`) {
		t.Errorf("at the end:\n%s", text)
	}
	s.Close()
	if list, _, ended := parts[1].after(0); !ended || len(list) == 0 {
		t.Error("the stream of a part goes on")
	}
}
