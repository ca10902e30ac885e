"""Settings of sign-in, most of them django-allauth's: what is the same on every site."""

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"

ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "change_password": "accounts.forms.ChangePasswordForm",
    "login": "accounts.forms.LoginForm",
    "reauthenticate": "accounts.forms.ReauthenticateForm",
    "signup": "accounts.forms.SignUpForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"  # of whom: accounts.stages
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
# django-allauth's own would note the address of whoever asks as one that is to be confirmed.
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "django.contrib.auth.tokens.PasswordResetTokenGenerator"
ACCOUNT_REAUTHENTICATION_REQUIRED = True  # for whatever changes how somebody signs in
ACCOUNT_RATE_LIMITS = {  # besides the defaults for signing in and the like
    "setup": "20/m/ip",
    "invitation": "20/m/ip",
    "token": "60/m/key",  # uses of one person's access tokens, other than for the API
    "api": "600/m/key",  # requests of one person's programs
    "wrong_token": "60/m/ip",
}
SOCIALACCOUNT_ADAPTER = "accounts.oidc.adapter.SocialAccountAdapter"
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"  # the provider says which address is verified
SOCIALACCOUNT_EMAIL_REQUIRED = False
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
MFA_ADAPTER = "accounts.second_factor.SecondFactorAdapter"
MFA_FORMS = {"add_webauthn": "accounts.forms.AddPasskeyForm"}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_TOLERANCE = 1  # a code is typed for a moment: those before and after count too
