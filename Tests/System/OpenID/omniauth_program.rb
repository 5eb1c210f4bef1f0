# A program with OmniAuth, as GitLab and Rails sign people in, and the settings of docs/clients/gitlab.md or rails.md:
# `omniauth_program.rb PORT ISSUER SECRET RECIPE`.
require 'json'
require 'sinatra/base'
require 'omniauth_openid_connect'

port, issuer, secret, recipe = ARGV
# Discovery over http is for tests.
SWD.url_builder = URI::HTTP
WebFinger.url_builder = URI::HTTP
OmniAuth.config.allowed_request_methods = [:get]
OmniAuth.config.silence_get_warning = true

# The page's own lines: they fill this hash as GitLab's configuration does, or call what a Rails application has.
gitlab_rails = {}
$options = nil
Taker = Class.new { def provider(_, **options) = $options = options }
Middleware = Class.new { def use(_, &block) = Taker.new.instance_exec(&block) }
Rails = Struct.new(:application).new(Struct.new(:config).new(Struct.new(:middleware).new(Middleware.new)))
eval(recipe)
PREFIX = $options ? '/auth' : '/users/auth'
ARGS = $options || gitlab_rails['omniauth_providers'][0][:args]
ARGS[:issuer] = issuer
PLACE = "#{PREFIX}/#{ARGS[:name]}"
ARGS[:client_options].merge!(
  secret: secret, redirect_uri: "http://127.0.0.1:#{port}#{PLACE}/callback",
  scheme: 'http', host: URI(issuer).host, port: URI(issuer).port)

class Program < Sinatra::Base
  enable :sessions
  set :session_secret, 'of a test, and long enough for the cookie store: ' + 'x' * 32
  set :environment, :production
  use OmniAuth::Builder do
    configure { |config| config.path_prefix = PREFIX }
    provider :openid_connect, **ARGS
  end

  get('/') { redirect PLACE }
  get "#{PLACE}/callback" do
    auth = request.env['omniauth.auth']
    content_type :json
    JSON.generate(uid: auth.uid, email: auth.info.email, name: auth.info.name)
  end
  get("#{PREFIX}/failure") { halt 403, params['message'].to_s }
end

Program.run!(port: port.to_i, bind: '127.0.0.1', server: 'webrick', quiet: true)
