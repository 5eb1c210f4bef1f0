const appAuth = FlutterAppAuth();
const kept = FlutterSecureStorage();
const client = 'flutter', redirect = 'com.example.app:/callback', issuer = 'https://id.example.com';

Future<String?> keep(TokenResponse tokens) async {
  await kept.write(key: 'refresh', value: tokens.refreshToken);
  if (tokens.idToken != null) await kept.write(key: 'id', value: tokens.idToken);
  return tokens.accessToken;
}

Future<String?> signIn() async => keep(await appAuth.authorizeAndExchangeCode(AuthorizationTokenRequest(
    client, redirect, issuer: issuer, scopes: ['openid', 'profile', 'email', 'offline_access'])));

// At launch, and when your backend answers 401. Null: the person must sign in.
Future<String?> refresh() async {
  final refreshToken = await kept.read(key: 'refresh');
  if (refreshToken == null) return null;
  return keep(await appAuth.token(TokenRequest(client, redirect, issuer: issuer, refreshToken: refreshToken)));
}

Future<void> signOut() async {
  final idToken = await kept.read(key: 'id');
  await kept.deleteAll();
  if (idToken == null) return;
  await appAuth.endSession(EndSessionRequest(idTokenHint: idToken, postLogoutRedirectUrl: redirect, issuer: issuer));
}
