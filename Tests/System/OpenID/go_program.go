// A program with go-oidc, as docs/clients/go.md has it: go_program PORT ISSUER SECRET.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

func main() {
	port, issuer, secret := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		log.Fatal(err)
	}
	config := oauth2.Config{
		ClientID:     "go",
		ClientSecret: secret,
		Endpoint:     provider.Endpoint(),
		RedirectURL:  "http://127.0.0.1:" + port + "/callback",
		Scopes:       []string{oidc.ScopeOpenID, "profile", "email", "groups"},
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: "go"})
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, config.AuthCodeURL("a-state", oidc.Nonce("a-nonce")), http.StatusFound)
	})
	http.HandleFunc("/callback", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("state") != "a-state" {
			http.Error(w, "state", http.StatusBadRequest)
			return
		}
		token, err := config.Exchange(ctx, r.URL.Query().Get("code"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		raw, _ := token.Extra("id_token").(string)
		idToken, err := verifier.Verify(ctx, raw)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := idToken.VerifyAccessToken(token.AccessToken); err != nil || idToken.Nonce != "a-nonce" {
			http.Error(w, "the ID token is of another sign-in", http.StatusBadRequest)
			return
		}
		info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		json.NewEncoder(w).Encode(map[string]string{
			"subject": idToken.Subject, "userinfo": info.Subject, "email": info.Email})
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
