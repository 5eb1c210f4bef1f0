// In your activity. `kept` stores a text, encrypted by the Android Keystore. In `onDestroy`, call `service.dispose()`.

private val redirect = Uri.parse("com.example.app:/oauth2redirect")
private val service by lazy { AuthorizationService(this) }
private var state: AuthState
    get() = kept.read()?.let { AuthState.jsonDeserialize(it) } ?: AuthState()
    set(value) = kept.write(value.jsonSerializeString())

fun signIn() = AuthorizationServiceConfiguration.fetchFromIssuer(Uri.parse("https://id.example.com")) { found, _ ->
    val request = AuthorizationRequest.Builder(found ?: return@fetchFromIssuer, "android", ResponseTypeValues.CODE, redirect)
        .setScope("openid profile email offline_access").build()
    startActivityForResult(service.getAuthorizationRequestIntent(request), SIGN_IN)
}

override fun onActivityResult(requestCode: Int, resultCode: Int, data: Intent?) {
    super.onActivityResult(requestCode, resultCode, data)
    val response = data?.takeIf { requestCode == SIGN_IN }?.let(AuthorizationResponse::fromIntent) ?: return
    service.performTokenRequest(response.createTokenExchangeRequest()) { tokens, failure ->
        state = AuthState(response, tokens, failure)
    }
}

// For each request to your backend. Null: no connection or, unless `state.isAuthorized`, the person must sign in again.
fun withToken(use: (String?) -> Unit) = state.let { now ->
    now.performActionWithFreshTokens(service) { token, _, failure ->
        if (failure == null || failure.type == AuthorizationException.TYPE_OAUTH_TOKEN_ERROR) state = now
        use(token)
    }
}

fun signOut() {
    val request = EndSessionRequest.Builder(state.authorizationServiceConfiguration ?: return)
        .setIdTokenHint(state.idToken).setPostLogoutRedirectUri(redirect).build()
    state = AuthState()
    startActivityForResult(service.getEndSessionRequestIntent(request), SIGN_OUT)
}
