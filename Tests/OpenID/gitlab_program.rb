# A program with the library GitLab signs people in with, and the settings of docs/clients/gitlab.md:
# `gitlab_program.rb PORT ISSUER SECRET RECIPE`.
require 'json'
require 'sinatra/base'
require 'omniauth_openid_connect'

port, issuer, secret, recipe = ARGV
# Discovery over http is for tests.
SWD.url_builder = URI::HTTP
WebFinger.url_builder = URI::HTTP
OmniAuth.config.allowed_request_methods = [:get]
OmniAuth.config.silence_get_warning = true

# The page's own lines, which fill this hash as GitLab's configuration does.
gitlab_rails = {}
eval(recipe)
ARGS = gitlab_rails['omniauth_providers'][0][:args]
ARGS[:issuer] = issuer
ARGS[:client_options].merge!(
  secret: secret, redirect_uri: "http://127.0.0.1:#{port}/users/auth/openid_connect/callback",
  scheme: 'http', host: URI(issuer).host, port: URI(issuer).port)

class Program < Sinatra::Base
  enable :sessions
  set :session_secret, 'of a test, and long enough for the cookie store: ' + 'x' * 32
  set :environment, :production
  use OmniAuth::Builder do
    configure { |config| config.path_prefix = '/users/auth' }
    provider :openid_connect, **ARGS
  end

  get('/') { redirect '/users/auth/openid_connect' }
  get '/users/auth/openid_connect/callback' do
    auth = request.env['omniauth.auth']
    content_type :json
    JSON.generate(uid: auth.uid, email: auth.info.email, name: auth.info.name)
  end
  get('/users/auth/failure') { halt 403, params['message'].to_s }
end

Program.run!(port: port.to_i, bind: '127.0.0.1', server: 'webrick', quiet: true)
