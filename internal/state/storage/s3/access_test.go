package s3

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// An amazon has every service at one address and keeps who asked for what.
type amazon struct {
	mu   sync.Mutex
	log  []string
	fail string // a call that is rejected
}

func (a *amazon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = r.ParseForm()
	who := "nobody"
	if _, after, found := strings.Cut(r.Header.Get("Authorization"), "Credential="); found {
		who, _, _ = strings.Cut(after, "/")
	}
	call := r.Form.Get("Action")
	if call == "" {
		call = r.Method + " " + r.Host + r.URL.EscapedPath() + "?" + r.URL.RawQuery
	}
	a.log = append(a.log, who+" "+call)
	for _, name := range []string{"RoleArn", "RoleSessionName", "DurationSeconds", "ExternalId", "Policy", "WebIdentityToken", "Tags.member.1.Key"} {
		if v := r.Form.Get(name); v != "" {
			a.log[len(a.log)-1] += " " + name + "=" + v
		}
	}
	if call == a.fail {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`)
		return
	}
	credentials := `<Credentials><AccessKeyId>` + r.Form.Get("RoleSessionName") + `-key</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>`
	switch call {
	case "GetCallerIdentity":
		fmt.Fprint(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	case "AssumeRole", "AssumeRoleWithWebIdentity":
		fmt.Fprintf(w, `<%sResponse><%sResult>%s</%sResult></%sResponse>`, call, call, credentials, call, call)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `<Error><Code>NoSuchKey</Code></Error>`)
	}
}

// asked reads a state and returns who asked for what on the way.
func asked(t *testing.T, a *amazon, env map[string]string, values map[string]cty.Value) (log []string, err error) {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	all := map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_ENDPOINT_URL_STS": server.URL, "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1", "HOME": t.TempDir(),
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_CONFIG_FILE": filepath.Join(t.TempDir(), "none"), "AWS_SHARED_CREDENTIALS_FILE": "",
	}
	for name, v := range env {
		all[name] = v
	}
	for name, v := range all {
		t.Setenv(name, v) // the SDK reads it itself
	}
	b, said := made(all, values)
	if b == nil {
		t.Fatal(said)
	}
	s, err := b.State("default")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Read(t.Context())
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log, err
}

func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// loggedIn is a directory with what "aws login" stores of a session.
func loggedIn(t *testing.T, session string) string {
	t.Helper()
	dir := t.TempDir()
	name := fmt.Sprintf("%x.json", sha256.Sum256([]byte(session)))
	token := `{"accessToken":{"accessKeyId":"login","secretAccessKey":"s","sessionToken":"t","accountId":"1","expiresAt":"2999-01-01T00:00:00Z"},
		"tokenType":"aws_sigv4","refreshToken":"r","idToken":"i","clientId":"c","dpopKey":"k"}`
	if err := os.WriteFile(filepath.Join(dir, name), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCredentials(t *testing.T) {
	text := cty.StringVal
	keys := map[string]cty.Value{"access_key": text("given"), "secret_key": text("s")}
	with := func(maps ...map[string]cty.Value) map[string]cty.Value {
		all := map[string]cty.Value{}
		for _, m := range maps {
			for name, v := range m {
				all[name] = v
			}
		}
		return all
	}
	inEnv := map[string]string{"AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s"}
	profiles := "[default]\naws_access_key_id = first\naws_secret_access_key = s\n[other]\naws_access_key_id = second\naws_secret_access_key = s\n"
	role := inner("assume_role", map[string]cty.Value{
		"role_arn": text("arn:aws:iam::1:role/r"), "session_name": text("me"), "duration": text("1h"), "external_id": text("x"),
		"tags": cty.MapVal(map[string]cty.Value{"team": text("a")}),
	})
	web := inner("assume_role_with_web_identity", map[string]cty.Value{"role_arn": text("arn:aws:iam::1:role/w"), "session_name": text("web"), "web_identity_token": text("jwt")})
	const assumed = "AssumeRole RoleArn=arn:aws:iam::1:role/r RoleSessionName=me DurationSeconds=3600 ExternalId=x Tags.member.1.Key=team"
	const asWeb = "nobody AssumeRoleWithWebIdentity RoleArn=arn:aws:iam::1:role/w RoleSessionName=web WebIdentityToken=jwt"
	for name, test := range map[string]struct {
		env    map[string]string
		values map[string]cty.Value
		want   []string // before the state is read
		who    string   // reads it
	}{
		"arguments":      {values: keys, want: []string{"given GetCallerIdentity"}, who: "given"},
		"environment":    {env: inEnv, want: []string{"env GetCallerIdentity"}, who: "env"},
		"not validated":  {env: inEnv, values: map[string]cty.Value{"skip_credentials_validation": cty.True}, who: "env"},
		"file":           {values: map[string]cty.Value{"shared_credentials_files": cty.SetVal([]cty.Value{text(file(t, profiles))})}, want: []string{"first GetCallerIdentity"}, who: "first"},
		"profile":        {env: inEnv, values: map[string]cty.Value{"profile": text("other"), "shared_credentials_files": cty.SetVal([]cty.Value{text(file(t, profiles))})}, want: []string{"second GetCallerIdentity"}, who: "second"},
		"process":        {env: map[string]string{"AWS_CONFIG_FILE": file(t, "[default]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"process\",\"SecretAccessKey\":\"s\"}'\n")}, want: []string{"process GetCallerIdentity"}, who: "process"},
		"role":           {values: with(keys, role), want: []string{"given " + assumed, "me-key GetCallerIdentity"}, who: "me-key"},
		"old role":       {values: with(keys, map[string]cty.Value{"role_arn": text("arn:aws:iam::1:role/o"), "session_name": text("old")}), want: []string{"given AssumeRole RoleArn=arn:aws:iam::1:role/o RoleSessionName=old DurationSeconds=900", "old-key GetCallerIdentity"}, who: "old-key"},
		"token":          {values: web, want: []string{asWeb, "web-key GetCallerIdentity"}, who: "web-key"},
		"token and role": {values: with(web, role), want: []string{asWeb, "web-key " + assumed, "me-key GetCallerIdentity"}, who: "me-key"},
		"token in the environment": {
			env:  map[string]string{"AWS_ROLE_ARN": "arn:aws:iam::1:role/w", "AWS_ROLE_SESSION_NAME": "web", "AWS_WEB_IDENTITY_TOKEN_FILE": file(t, "jwt")},
			want: []string{asWeb, "web-key GetCallerIdentity"}, who: "web-key",
		},
		"aws login": {
			env:  map[string]string{"AWS_CONFIG_FILE": file(t, "[default]\nlogin_session = arn:aws:iam::1:user/u\n"), "AWS_LOGIN_CACHE_DIRECTORY": loggedIn(t, "arn:aws:iam::1:user/u")},
			want: []string{"login GetCallerIdentity"}, who: "login",
		},
		"account": {values: with(keys, map[string]cty.Value{"skip_credentials_validation": cty.True, "allowed_account_ids": cty.SetVal([]cty.Value{text("123456789012")})}), want: []string{"given GetCallerIdentity"}, who: "given"},
	} {
		t.Run(name, func(t *testing.T) {
			log, err := asked(t, &amazon{}, test.env, test.values)
			if err != nil {
				t.Fatal(err)
			}
			last := log[len(log)-1]
			if got, want := strings.Join(log[:len(log)-1], "\n"), strings.Join(test.want, "\n"); got != want || !strings.HasPrefix(last, test.who+" GET ") {
				t.Errorf("got\n%s\n%s\nwant\n%s\n%s", got, last, want, test.who)
			}
		})
	}
}

func TestRefusedCredentials(t *testing.T) {
	text := cty.StringVal
	keys := func(name string, v cty.Value) map[string]cty.Value {
		return map[string]cty.Value{"access_key": text("given"), "secret_key": text("s"), name: v}
	}
	for want, test := range map[string]struct {
		fail   string
		values map[string]cty.Value
	}{
		"No valid credential sources found": {},
		"validating provider credentials":   {fail: "GetCallerIdentity", values: keys("profile", cty.NullVal(cty.String))},
		"Cannot assume IAM Role":            {fail: "AssumeRole", values: keys("role_arn", text("arn:aws:iam::1:role/r"))},
		"AWS account ID not allowed":        {values: keys("forbidden_account_ids", cty.SetVal([]cty.Value{text("123456789012")}))},
		"not allowed: 123456789012":         {values: keys("allowed_account_ids", cty.SetVal([]cty.Value{text("1")}))},
		"with web identity.\n\nThe role r":  {fail: "AssumeRoleWithWebIdentity", values: inner("assume_role_with_web_identity", map[string]cty.Value{"role_arn": text("r"), "web_identity_token": text("jwt")})},
		"the file of custom_ca_bundle":      {values: keys("custom_ca_bundle", text("/nowhere"))},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := asked(t, &amazon{fail: test.fail}, nil, test.values); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestAddresses has the addresses of buckets and tables.
func TestAddresses(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	text := cty.StringVal
	for want, values := range map[string]map[string]cty.Value{
		"https://states.s3.eu-central-1.amazonaws.com https://dynamodb.eu-central-1.amazonaws.com/":                     {},
		"https://s3.eu-central-1.amazonaws.com/states https://dynamodb.eu-central-1.amazonaws.com/":                     {"use_path_style": cty.True},
		"https://s3.eu-central-1.amazonaws.com/a.b https://dynamodb.eu-central-1.amazonaws.com/":                        {"bucket": text("a.b")},
		"https://states.s3.cn-north-1.amazonaws.com.cn https://dynamodb.cn-north-1.amazonaws.com.cn/":                   {"region": text("cn-north-1")},
		"https://states.s3-fips.us-gov-west-1.amazonaws.com https://dynamodb-fips.us-gov-west-1.amazonaws.com/":         {"region": text("us-gov-west-1"), "use_fips_endpoint": cty.True},
		"https://states.s3.dualstack.eu-central-1.amazonaws.com https://dynamodb.eu-central-1.api.aws/":                 {"use_dualstack_endpoint": cty.True},
		"https://p-123456789012.s3-accesspoint.eu-central-1.amazonaws.com https://dynamodb.eu-central-1.amazonaws.com/": {"bucket": text("arn:aws:s3:eu-central-1:123456789012:accesspoint/p")},
		"http://states.store:9000 https://dynamodb.eu-central-1.amazonaws.com/":                                         {"endpoint": text("http://store:9000")},
		"http://127.0.0.1:9000/states https://dynamodb.eu-central-1.amazonaws.com/":                                     {"endpoint": text("http://127.0.0.1:9000/")},
	} {
		values["access_key"], values["secret_key"] = text("k"), text("s")
		values["skip_credentials_validation"], values["dynamodb_table"] = cty.True, text("locks")
		b, said := made(nil, values)
		if b == nil {
			t.Fatal(said)
		}
		c, err := b.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := c.bucket.address.String() + " " + c.table.address.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	b, _ := made(nil, map[string]cty.Value{"access_key": text("k"), "secret_key": text("s"), "skip_credentials_validation": cty.True})
	c, err := b.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.bucket.key("a b/c+d:e.tfstate").String(), "https://states.s3.eu-central-1.amazonaws.com/a%20b/c%2Bd%3Ae.tfstate"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDigestNotStored has a table that takes nothing: then nothing is uploaded.
func TestDigestNotStored(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-Amz-Target") {
		case "":
			t.Errorf("%s %s", r.Method, r.URL)
		case "DynamoDB_20120810.GetItem":
			fmt.Fprint(w, "{}")
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"com.amazonaws#AccessDeniedException","message":"no"}`)
		}
	}))
	defer server.Close()
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	b, said := made(nil, map[string]cty.Value{
		"access_key": cty.StringVal("k"), "secret_key": cty.StringVal("s"), "skip_credentials_validation": cty.True,
		"dynamodb_table": cty.StringVal("locks"), "endpoint": cty.StringVal(server.URL), "dynamodb_endpoint": cty.StringVal(server.URL),
	})
	if b == nil {
		t.Fatal(said)
	}
	s, err := b.State("default")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), "the digest of the state can't be stored") {
		t.Errorf("got %v", err)
	}
}
