package cloud

import "maps"

// Secrets Manager keeps secrets and the newest version of each.
type secrets struct{ secrets map[string]*secret } // by ARN

type secret struct {
	description   object
	policy        string
	value, binary any
	version       string
	tags          map[string]string
}

func newSecrets() *secrets { return &secrets{secrets: map[string]*secret{}} }

// secretARN is the name of a secret, which ends with six letters that AWS makes up.
func secretARN(r *request, name string) string {
	return arn("secretsmanager", r.region, "secret:"+name+"-"+token(6, name))
}

func (s *secrets) service() service {
	on := func(do func(r *request, x *secret) (any, error)) call {
		return func(r *request) (any, error) {
			x := s.secrets[r.text("SecretId")]
			if x == nil {
				x = s.secrets[secretARN(r, r.text("SecretId"))]
			}
			if x == nil {
				return nil, refused("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
			}
			return do(r, x)
		}
	}
	named := func(x *secret) object {
		return object{"ARN": x.description["ARN"], "Name": x.description["Name"], "VersionId": x.version}
	}
	return service{dialect: jsonText, calls: map[string]call{
		"CreateSecret": func(r *request) (any, error) {
			name := secretARN(r, r.text("Name"))
			if s.secrets[name] != nil {
				return nil, refused("ResourceExistsException", "%s exists already", r.text("Name"))
			}
			x := &secret{tags: r.input.tags("Tags", "Key", "Value"), description: object{
				"ARN": name, "Name": r.text("Name"), "CreatedDate": now.Unix(), "LastChangedDate": now.Unix(),
			}}
			x.set(r)
			s.secrets[name] = x
			return named(x), nil
		},
		"UpdateSecret": on(func(r *request, x *secret) (any, error) {
			x.set(r)
			return named(x), nil
		}),
		"DescribeSecret": on(func(r *request, x *secret) (any, error) {
			d := maps.Clone(x.description)
			d["Tags"] = tagList(x.tags, "Key", "Value")
			if x.version != "" {
				d["VersionIdsToStages"] = object{x.version: []string{"AWSCURRENT"}}
			}
			return d, nil
		}),
		"DeleteSecret": on(func(r *request, x *secret) (any, error) {
			delete(s.secrets, x.description.text("ARN"))
			return named(x), nil
		}),
		"PutSecretValue": on(func(r *request, x *secret) (any, error) {
			x.set(r)
			out := named(x)
			out["VersionStages"] = []string{"AWSCURRENT"}
			return out, nil
		}),
		"GetSecretValue": on(func(r *request, x *secret) (any, error) {
			if x.version == "" || r.text("VersionId") != "" && r.text("VersionId") != x.version {
				return nil, refused("ResourceNotFoundException", "Secrets Manager can't find the specified secret value.")
			}
			out := named(x)
			out["VersionStages"], out["CreatedDate"] = []string{"AWSCURRENT"}, now.Unix()
			if x.value != nil {
				out["SecretString"] = x.value
			}
			if x.binary != nil {
				out["SecretBinary"] = x.binary
			}
			return out, nil
		}),
		"GetResourcePolicy": on(func(r *request, x *secret) (any, error) {
			out := named(x)
			if x.policy != "" {
				out["ResourcePolicy"] = x.policy
			}
			return out, nil
		}),
		"PutResourcePolicy": on(func(r *request, x *secret) (any, error) {
			x.policy = r.text("ResourcePolicy")
			return named(x), nil
		}),
		"DeleteResourcePolicy": on(func(r *request, x *secret) (any, error) {
			x.policy = ""
			return named(x), nil
		}),
		"UpdateSecretVersionStage": on(func(r *request, x *secret) (any, error) { return named(x), nil }),
		"TagResource": on(func(r *request, x *secret) (any, error) {
			maps.Copy(x.tags, r.input.tags("Tags", "Key", "Value"))
			return nil, nil
		}),
		"UntagResource": on(func(r *request, x *secret) (any, error) {
			untag(x.tags, r.input.list("TagKeys"))
			return nil, nil
		}),
	}}
}

func (x *secret) set(r *request) {
	for _, given := range []string{"Description", "KmsKeyId"} {
		if v, ok := r.input[given]; ok {
			x.description[given] = v
		}
	}
	value, binary := r.input["SecretString"], r.input["SecretBinary"]
	if value != nil || binary != nil {
		x.value, x.binary = value, binary
		x.version = uuid(x.description.text("ARN"), r.input.text("SecretString"), r.input.text("SecretBinary"))
	}
}
