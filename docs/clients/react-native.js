import { authorize, logout, refresh, revoke } from "react-native-app-auth";

const config = {
  issuer: "https://id.example.com",
  clientId: "react-native",
  redirectUrl: "com.example.app:/callback",
  scopes: ["openid", "profile", "email", "offline_access"],
};

export const signIn = () => authorize(config);
// When your backend answers 401.
export const renew = (refreshToken) => refresh(config, { refreshToken });

export async function signOut({ idToken, refreshToken }) {
  await revoke(config, { tokenToRevoke: refreshToken, sendClientId: true });
  await logout(config, { idToken, postLogoutRedirectUrl: config.redirectUrl });
}
