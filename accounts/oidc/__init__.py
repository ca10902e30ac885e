"""Sign-in by a provider of identities that speaks OpenID Connect. `provider.py` is where
django-allauth looks for it: this package is one of its apps."""
