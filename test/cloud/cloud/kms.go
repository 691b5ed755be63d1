package cloud

import (
	"maps"
	"strings"
)

// KMS keeps keys and aliases. Anything that nobody made is there too, enabled, as if made long
// ago; so are the aliases of AWS's own keys.
type kms struct {
	keys    map[string]*key   // by ARN
	aliases map[string]string // region and name to the identifier of a key
}

type key struct {
	metadata object
	policy   string
	rotation object
	tags     map[string]string
}

const oldKey = "12345678-1234-1234-1234-123456789012"

func defaultKey(region string) string { return arn("kms", region, "key/"+oldKey) }

func newKMS() *kms { return &kms{keys: map[string]*key{}, aliases: map[string]string{}} }

func (s *kms) service() service {
	on := func(do func(r *request, k *key) any) call {
		return func(r *request) (any, error) {
			k, err := s.key(r)
			if err != nil {
				return nil, err
			}
			return do(r, k), nil
		}
	}
	enabled := func(is bool, state string) call {
		return on(func(r *request, k *key) any {
			k.metadata["Enabled"], k.metadata["KeyState"] = is, state
			return object{"KeyId": k.metadata["KeyId"], "KeyState": state, "DeletionDate": now.Unix()}
		})
	}
	rotation := func(is bool) call {
		return on(func(r *request, k *key) any {
			k.rotation = object{"KeyRotationEnabled": is}
			if is {
				k.rotation["RotationPeriodInDays"] = 365
				if days := r.input["RotationPeriodInDays"]; days != nil {
					k.rotation["RotationPeriodInDays"] = days
				}
			}
			return nil
		})
	}
	return service{dialect: jsonText, calls: map[string]call{
		"CreateKey":            s.create,
		"DescribeKey":          on(func(r *request, k *key) any { return object{"KeyMetadata": k.metadata} }),
		"GetPublicKey":         on(func(r *request, k *key) any { return object{"KeyId": k.metadata["Arn"]} }),
		"EnableKey":            enabled(true, "Enabled"),
		"DisableKey":           enabled(false, "Disabled"),
		"ScheduleKeyDeletion":  enabled(false, "PendingDeletion"),
		"EnableKeyRotation":    rotation(true),
		"DisableKeyRotation":   rotation(false),
		"GetKeyRotationStatus": on(func(r *request, k *key) any { return k.rotation }),
		"GetKeyPolicy":         on(func(r *request, k *key) any { return object{"Policy": k.policy, "PolicyName": "default"} }),
		"PutKeyPolicy": on(func(r *request, k *key) any {
			k.policy = r.text("Policy")
			return nil
		}),
		"UpdateKeyDescription": on(func(r *request, k *key) any {
			k.metadata["Description"] = r.text("Description")
			return nil
		}),
		"ListResourceTags": on(func(r *request, k *key) any {
			return object{"Tags": tagList(k.tags, "TagKey", "TagValue"), "Truncated": false}
		}),
		"TagResource": on(func(r *request, k *key) any {
			maps.Copy(k.tags, r.input.tags("Tags", "TagKey", "TagValue"))
			return nil
		}),
		"UntagResource": on(func(r *request, k *key) any {
			untag(k.tags, r.input.list("TagKeys"))
			return nil
		}),
		"CreateAlias": s.createAlias,
		"UpdateAlias": s.updateAlias,
		"DeleteAlias": s.deleteAlias,
		"ListAliases": s.listAliases,
	}}
}

func (s *kms) key(r *request) (*key, error) {
	id := r.text("KeyId")
	if i := strings.Index(id, "alias/"); i >= 0 {
		id = s.aliases[r.region+"/"+id[i:]]
	}
	id = id[strings.LastIndex(id, "/")+1:]
	name := arn("kms", r.region, "key/"+id)
	if id == "" || id == oldKey || s.keys[name] == nil {
		return newKey(r.region, oldKey), nil
	}
	return s.keys[name], nil
}

func newKey(region, id string) *key {
	return &key{
		metadata: object{
			"AWSAccountId": Account, "KeyId": id, "Arn": arn("kms", region, "key/"+id), "CreationDate": now.Unix(),
			"Enabled": true, "KeyState": "Enabled", "Description": "d", "KeyUsage": "ENCRYPT_DECRYPT", "Origin": "AWS_KMS", "KeyManager": "AWS",
			"CustomerMasterKeySpec": "SYMMETRIC_DEFAULT", "KeySpec": "SYMMETRIC_DEFAULT", "MultiRegion": false,
			"EncryptionAlgorithms": []string{"SYMMETRIC_DEFAULT"},
		},
		rotation: object{"KeyRotationEnabled": false},
		tags:     map[string]string{},
	}
}

// create makes a key whose identifier comes from its description: further keys with
// the same one have theirs from how many there are.
func (s *kms) create(r *request) (any, error) {
	id := uuid("key", r.region, r.text("Description"))
	for n := 1; s.keys[arn("kms", r.region, "key/"+id)] != nil; n++ {
		id = uuid("key", r.region, r.text("Description"), strings.Repeat("+", n))
	}
	k := newKey(r.region, id)
	k.metadata["KeyManager"], k.metadata["Description"] = "CUSTOMER", r.text("Description")
	for _, given := range []string{"KeyUsage", "KeySpec", "CustomerMasterKeySpec", "MultiRegion"} {
		if v := r.input[given]; v != nil {
			k.metadata[given] = v
		}
	}
	k.policy = r.text("Policy")
	if k.policy == "" {
		k.policy = `{"Version":"2012-10-17","Id":"key-default-1","Statement":[{"Sid":"Enable IAM User Permissions","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::` + Account + `:root"},"Action":"kms:*","Resource":"*"}]}`
	}
	k.tags = r.input.tags("Tags", "TagKey", "TagValue")
	s.keys[k.metadata.text("Arn")] = k
	return object{"KeyMetadata": k.metadata}, nil
}

func (s *kms) createAlias(r *request) (any, error) {
	name := r.region + "/" + r.text("AliasName")
	if s.aliases[name] != "" {
		return nil, refused("AlreadyExistsException", "%s exists already", r.text("AliasName"))
	}
	return s.updateAlias(r)
}

func (s *kms) updateAlias(r *request) (any, error) {
	target := r.text("TargetKeyId")
	s.aliases[r.region+"/"+r.text("AliasName")] = target[strings.LastIndex(target, "/")+1:]
	return nil, nil
}

func (s *kms) deleteAlias(r *request) (any, error) {
	delete(s.aliases, r.region+"/"+r.text("AliasName"))
	return nil, nil
}

func (s *kms) listAliases(r *request) (any, error) {
	all := []object{}
	add := func(name, key string) {
		all = append(all, object{"AliasName": name, "AliasArn": arn("kms", r.region, name), "TargetKeyId": key})
	}
	for _, of := range []string{"s3", "rds", "ebs", "lambda", "ssm", "sns", "sqs", "dynamodb", "secretsmanager"} {
		add("alias/aws/"+of, oldKey)
	}
	for _, name := range sorted(s.aliases) {
		if rest, ok := strings.CutPrefix(name, r.region+"/"); ok {
			add(rest, s.aliases[name])
		}
	}
	return object{"Aliases": all, "Truncated": false}, nil
}
